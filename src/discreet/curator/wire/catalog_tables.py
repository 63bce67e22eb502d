"""What the system catalogue has: its tables, types, functions and settings, as clients of PostgreSQL ask for them."""

VERSION = "15.0"
TABLES = {
    "pg_namespace": "oid BIGINT, nspname VARCHAR, nspowner BIGINT, nspacl VARCHAR[]",
    "pg_class": "oid BIGINT, relname VARCHAR, relnamespace BIGINT, reltype BIGINT, reloftype BIGINT, relowner BIGINT, "
    "relam BIGINT, relfilenode BIGINT, reltablespace BIGINT, relpages BIGINT, reltuples DOUBLE, reltoastrelid BIGINT, "
    "relhasindex BOOLEAN, relisshared BOOLEAN, relpersistence VARCHAR, relkind VARCHAR, relnatts BIGINT, "
    "relchecks BIGINT, relhasrules BOOLEAN, relhastriggers BOOLEAN, relhassubclass BOOLEAN, relrowsecurity BOOLEAN, "
    "relforcerowsecurity BOOLEAN, relispopulated BOOLEAN, relreplident VARCHAR, relispartition BOOLEAN, "
    "relacl VARCHAR[], reloptions VARCHAR[], relpartbound VARCHAR, relhasoids BOOLEAN",
    "pg_attribute": "attrelid BIGINT, attname VARCHAR, atttypid BIGINT, attstattarget BIGINT, attlen BIGINT, "
    "attnum BIGINT, attndims BIGINT, atttypmod BIGINT, attstorage VARCHAR, attcompression VARCHAR, attnotnull BOOLEAN, "
    "atthasdef BOOLEAN, atthasmissing BOOLEAN, attidentity VARCHAR, attgenerated VARCHAR, attisdropped BOOLEAN, "
    "attislocal BOOLEAN, attinhcount BIGINT, attcollation BIGINT, attacl VARCHAR[], attoptions VARCHAR[], "
    "attfdwoptions VARCHAR[]",
    "pg_type": "oid BIGINT, typname VARCHAR, typnamespace BIGINT, typowner BIGINT, typlen BIGINT, typtype VARCHAR, "
    "typcategory VARCHAR, typispreferred BOOLEAN, typisdefined BOOLEAN, typdelim VARCHAR, typrelid BIGINT, "
    "typelem BIGINT, typarray BIGINT, typinput VARCHAR, typoutput VARCHAR, typreceive VARCHAR, typnotnull BOOLEAN, "
    "typbasetype BIGINT, typtypmod BIGINT, typndims BIGINT, typcollation BIGINT, typdefault VARCHAR",
    "pg_database": "oid BIGINT, datname VARCHAR, datdba BIGINT, encoding BIGINT, datcollate VARCHAR, datctype VARCHAR, "
    "datistemplate BOOLEAN, datallowconn BOOLEAN, datconnlimit BIGINT, dattablespace BIGINT, datacl VARCHAR[], "
    "daticulocale VARCHAR, datlocprovider VARCHAR, datcollversion VARCHAR",
    "pg_roles": "oid BIGINT, rolname VARCHAR, rolsuper BOOLEAN, rolinherit BOOLEAN, rolcreaterole BOOLEAN, "
    "rolcreatedb BOOLEAN, rolcanlogin BOOLEAN, rolreplication BOOLEAN, rolbypassrls BOOLEAN, rolconnlimit BIGINT, "
    "rolvaliduntil TIMESTAMP",
    "pg_settings": "name VARCHAR, setting VARCHAR, unit VARCHAR, category VARCHAR, short_desc VARCHAR",
    "pg_am": "oid BIGINT, amname VARCHAR, amtype VARCHAR, amhandler VARCHAR",
    "pg_tables": "schemaname VARCHAR, tablename VARCHAR, tableowner VARCHAR, tablespace VARCHAR, hasindexes BOOLEAN, "
    "hasrules BOOLEAN, hastriggers BOOLEAN, rowsecurity BOOLEAN",
    "pg_description": "objoid BIGINT, classoid BIGINT, objsubid BIGINT, description VARCHAR",
    "pg_long_names": "oid BIGINT, typlong VARCHAR",
    # --- always empty
    "pg_attrdef": "oid BIGINT, adrelid BIGINT, adnum BIGINT, adbin VARCHAR, adsrc VARCHAR",
    "pg_auth_members": "roleid BIGINT, member BIGINT, grantor BIGINT, admin_option BOOLEAN",
    "pg_collation": "oid BIGINT, collname VARCHAR, collnamespace BIGINT, collprovider VARCHAR, collencoding BIGINT",
    "pg_constraint": "oid BIGINT, conname VARCHAR, connamespace BIGINT, contype VARCHAR, condeferrable BOOLEAN, "
    "condeferred BOOLEAN, convalidated BOOLEAN, conrelid BIGINT, contypid BIGINT, conindid BIGINT, conparentid BIGINT, "
    "confrelid BIGINT, confupdtype VARCHAR, confdeltype VARCHAR, confmatchtype VARCHAR, conkey BIGINT[], "
    "confkey BIGINT[], conbin VARCHAR, consrc VARCHAR, conislocal BOOLEAN, connoinherit BOOLEAN",
    "pg_depend": "classid BIGINT, objid BIGINT, objsubid BIGINT, refclassid BIGINT, refobjid BIGINT, "
    "refobjsubid BIGINT, deptype VARCHAR",
    "pg_enum": "oid BIGINT, enumtypid BIGINT, enumsortorder DOUBLE, enumlabel VARCHAR",
    "pg_event_trigger": "oid BIGINT, evtname VARCHAR",
    "pg_extension": "oid BIGINT, extname VARCHAR, extnamespace BIGINT, extversion VARCHAR",
    "pg_foreign_server": "oid BIGINT, srvname VARCHAR, srvoptions VARCHAR[]",
    "pg_foreign_table": "ftrelid BIGINT, ftserver BIGINT, ftoptions VARCHAR[]",
    "pg_index": "indexrelid BIGINT, indrelid BIGINT, indnatts BIGINT, indnkeyatts BIGINT, indisunique BOOLEAN, "
    "indisprimary BOOLEAN, indisexclusion BOOLEAN, indimmediate BOOLEAN, indisclustered BOOLEAN, indisvalid BOOLEAN, "
    "indisreplident BOOLEAN, indkey BIGINT[], indoption BIGINT[], indclass BIGINT[], indcollation BIGINT[], "
    "indexprs VARCHAR, indpred VARCHAR, indnullsnotdistinct BOOLEAN",
    "pg_inherits": "inhrelid BIGINT, inhparent BIGINT, inhseqno BIGINT, inhdetachpending BOOLEAN",
    "pg_language": "oid BIGINT, lanname VARCHAR",
    "pg_matviews": "schemaname VARCHAR, matviewname VARCHAR, matviewowner VARCHAR, definition VARCHAR",
    "pg_opclass": "oid BIGINT, opcname VARCHAR, opcdefault BOOLEAN",
    "pg_partitioned_table": "partrelid BIGINT, partstrat VARCHAR",
    "pg_policy": "oid BIGINT, polname VARCHAR, polrelid BIGINT, polcmd VARCHAR, polpermissive BOOLEAN, "
    "polroles BIGINT[], polqual VARCHAR, polwithcheck VARCHAR",
    "pg_proc": "oid BIGINT, proname VARCHAR, pronamespace BIGINT, proowner BIGINT, prolang BIGINT, prokind VARCHAR, "
    "prorettype BIGINT, proargtypes BIGINT[], pronargs BIGINT, proretset BOOLEAN",
    "pg_publication": "oid BIGINT, pubname VARCHAR, puballtables BOOLEAN",
    "pg_publication_namespace": "oid BIGINT, pnpubid BIGINT, pnnspid BIGINT",
    "pg_publication_rel": "oid BIGINT, prpubid BIGINT, prrelid BIGINT, prqual VARCHAR, prattrs BIGINT[]",
    "pg_range": "rngtypid BIGINT, rngsubtype BIGINT, rngmultitypid BIGINT",
    "pg_rewrite": "oid BIGINT, rulename VARCHAR, ev_class BIGINT, ev_type VARCHAR, is_instead BOOLEAN",
    "pg_sequence": "seqrelid BIGINT, seqtypid BIGINT, seqstart BIGINT, seqincrement BIGINT, seqmax BIGINT, "
    "seqmin BIGINT, seqcache BIGINT, seqcycle BOOLEAN",
    "pg_sequences": "schemaname VARCHAR, sequencename VARCHAR",
    "pg_shdescription": "objoid BIGINT, classoid BIGINT, description VARCHAR",
    "pg_stat_activity": "pid BIGINT, usename VARCHAR, datname VARCHAR, state VARCHAR, query VARCHAR",
    "pg_stat_user_tables": "relid BIGINT, schemaname VARCHAR, relname VARCHAR, n_live_tup BIGINT",
    "pg_statistic_ext": "oid BIGINT, stxrelid BIGINT, stxname VARCHAR, stxnamespace BIGINT, stxkind VARCHAR[], "
    "stxstattarget BIGINT",
    "pg_tablespace": "oid BIGINT, spcname VARCHAR, spcowner BIGINT, spcacl VARCHAR[]",
    "pg_trigger": "oid BIGINT, tgrelid BIGINT, tgname VARCHAR, tgisinternal BOOLEAN, tgenabled VARCHAR, "
    "tgparentid BIGINT, tgconstraint BIGINT, tgfoid BIGINT",
    "pg_user": "usename VARCHAR, usesysid BIGINT, usesuper BOOLEAN",
    "pg_views": "schemaname VARCHAR, viewname VARCHAR, viewowner VARCHAR, definition VARCHAR",
}
"""The tables of pg_catalog that are known here."""
INFORMATION_TABLES = {
    "schemata": "catalog_name VARCHAR, schema_name VARCHAR, schema_owner VARCHAR",
    "tables": "table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, table_type VARCHAR, "
    "is_insertable_into VARCHAR, is_typed VARCHAR",
    "columns": "table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR, "
    "ordinal_position BIGINT, column_default VARCHAR, is_nullable VARCHAR, data_type VARCHAR, "
    "character_maximum_length BIGINT, character_octet_length BIGINT, numeric_precision BIGINT, "
    "numeric_precision_radix BIGINT, numeric_scale BIGINT, datetime_precision BIGINT, udt_catalog VARCHAR, "
    "udt_schema VARCHAR, udt_name VARCHAR, domain_name VARCHAR, collation_name VARCHAR, is_identity VARCHAR, "
    "identity_generation VARCHAR, is_generated VARCHAR, generation_expression VARCHAR, is_updatable VARCHAR",
    "views": "table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, view_definition VARCHAR",
    "key_column_usage": "constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR, "
    "table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR, ordinal_position BIGINT, "
    "position_in_unique_constraint BIGINT",
    "table_constraints": "constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR, "
    "table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, constraint_type VARCHAR",
    "referential_constraints": "constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR, "
    "unique_constraint_name VARCHAR, unique_constraint_schema VARCHAR, update_rule VARCHAR, delete_rule VARCHAR",
    "constraint_column_usage": "table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR, "
    "constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR",
    "routines": "specific_schema VARCHAR, specific_name VARCHAR, routine_schema VARCHAR, routine_name VARCHAR, "
    "routine_type VARCHAR, data_type VARCHAR",
    "parameters": "specific_schema VARCHAR, specific_name VARCHAR, parameter_name VARCHAR, ordinal_position BIGINT",
    "sequences": "sequence_schema VARCHAR, sequence_name VARCHAR",
    "triggers": "trigger_schema VARCHAR, trigger_name VARCHAR, event_object_table VARCHAR",
    "table_privileges": "grantee VARCHAR, table_schema VARCHAR, table_name VARCHAR, privilege_type VARCHAR",
    "role_table_grants": "grantee VARCHAR, table_schema VARCHAR, table_name VARCHAR, privilege_type VARCHAR",
}

LONG_NAMES = {"int8": "bigint", "int4": "integer", "int2": "smallint", "float8": "double precision", "float4": "real",
              "bool": "boolean", "timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone",
              "varchar": "character varying", "bpchar": "character", "time": "time without time zone"}  # fmt: skip
TYPES = (  # oid, name, length, category, array type
    (16, "bool", 1, "B", 1000), (17, "bytea", -1, "U", 1001), (18, "char", 1, "S", 1002), (19, "name", 64, "S", 1003),
    (20, "int8", 8, "N", 1016), (21, "int2", 2, "N", 1005), (23, "int4", 4, "N", 1007), (25, "text", -1, "S", 1009),
    (26, "oid", 4, "N", 1028), (700, "float4", 4, "N", 1021), (701, "float8", 8, "N", 1022),
    (1042, "bpchar", -1, "S", 1014), (1043, "varchar", -1, "S", 1015), (1082, "date", 4, "D", 1182),
    (1083, "time", 8, "D", 1183), (1114, "timestamp", 8, "D", 1115), (1184, "timestamptz", 8, "D", 1185),
    (1186, "interval", 16, "T", 1187), (1700, "numeric", -1, "N", 1231), (2950, "uuid", 16, "U", 2951),
    (114, "json", -1, "U", 199), (3802, "jsonb", -1, "U", 3807), (705, "unknown", -2, "X", 0),
)  # fmt: skip

MACROS = """
version() AS 'PostgreSQL {version} (discreet)'
current_database() AS '{database}'
current_catalog_() AS '{database}'
current_schema() AS 'public'
current_schemas(a) AS CASE WHEN a THEN ['pg_catalog', 'public'] ELSE ['public'] END
current_user_() AS '{user}'
pg_backend_pid() AS 1
pg_is_in_recovery() AS false
pg_my_temp_schema() AS 0
pg_is_other_temp_schema(a) AS false
pg_postmaster_start_time() AS NULL
pg_encoding_to_char(a) AS 'UTF8'
pg_get_userbyid(a) AS '{user}'
pg_table_is_visible(a) AS true
pg_type_is_visible(a) AS true
pg_collation_is_visible(a) AS true
pg_conversion_is_visible(a) AS true
pg_function_is_visible(a) AS true
pg_opclass_is_visible(a) AS true
pg_operator_is_visible(a) AS true
pg_opfamily_is_visible(a) AS true
pg_statistics_obj_is_visible(a) AS true
pg_ts_config_is_visible(a) AS true
pg_ts_dict_is_visible(a) AS true
pg_ts_parser_is_visible(a) AS true
pg_ts_template_is_visible(a) AS true
pg_get_expr(a, b) AS NULL, (a, b, c) AS NULL
pg_get_constraintdef(a) AS NULL, (a, b) AS NULL
pg_get_indexdef(a) AS NULL, (a, b, c) AS NULL
pg_get_viewdef(a) AS NULL, (a, b) AS NULL
pg_get_partkeydef(a) AS NULL
pg_get_ruledef(a) AS NULL
pg_get_triggerdef(a) AS NULL, (a, b) AS NULL
pg_get_statisticsobjdef_columns(a) AS NULL
pg_get_serial_sequence(a, b) AS NULL
pg_relation_is_publishable(a) AS false
pg_relation_size(a) AS 0
pg_total_relation_size(a) AS 0
pg_table_size(a) AS 0
pg_size_pretty(a) AS '0 bytes'
obj_description(a) AS NULL, (a, b) AS NULL
shobj_description(a, b) AS NULL
col_description(a, b) AS NULL
has_schema_privilege(a, b) AS true, (a, b, c) AS true
has_table_privilege(a, b) AS b = 'SELECT', (a, b, c) AS c = 'SELECT'
has_column_privilege(a, b, c) AS c = 'SELECT', (a, b, c, d) AS d = 'SELECT'
has_any_column_privilege(a, b) AS b = 'SELECT', (a, b, c) AS c = 'SELECT'
has_database_privilege(a, b) AS b = 'CONNECT', (a, b, c) AS c = 'CONNECT'
inet_server_addr() AS NULL
inet_server_port() AS NULL
txid_current() AS 1
array_upper(a, b) AS len(a)
array_lower(a, b) AS 1
quote_ident(a) AS a
set_config(a, b, c) AS b
current_setting_(a) AS (SELECT max(setting) FROM _pg_settings WHERE name = lower(a))
current_setting(a) AS current_setting_(a), (a, b) AS current_setting_(a)
format_type(a, b) AS (SELECT max(typlong) FROM _pg_long_names WHERE oid = a)
_class_oid(a) AS (SELECT max(oid) FROM _pg_class WHERE relname = replace(replace(a, 'public.', ''), '"', ''))
to_regclass(a) AS _class_oid(a)
to_regtype(a) AS (SELECT max(oid) FROM _pg_type WHERE typname = a)
_class_name(a) AS (SELECT max(relname) FROM _pg_class WHERE oid = a)
"""
"""Functions; ``{version}``, ``{database}`` and ``{user}`` are filled in."""
SETTINGS = {
    "server_version": VERSION,
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "integer_datetimes": "on",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "transaction_isolation": "read committed",
    "transaction_read_only": "on",
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "read committed",
    "search_path": "public",
    "is_superuser": "off",
    "max_identifier_length": "63",
    "bytea_output": "hex",
    "application_name": "",
    "extra_float_digits": "3",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "row_security": "on",
    "lc_collate": "C",
    "lc_ctype": "C",
}
"""What SHOW and current_setting() say."""
