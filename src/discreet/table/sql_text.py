"""From text to a syntax tree, by sqlglot, within limits: size, nesting, time. What it may hold is decided elsewhere.

Promise: whatever the text is, the result is a tree or a ``BadQuestion``; never another error, never a wait. Messages
name places and words of SQL, not the constants in the text.
Believes: sqlglot stops at ``max_nodes``. Its parser tries several readings of one text, some of them again at each
level of nesting; the number of nodes that it may make is therefore limited to a multiple of the text's length.
Functions are left unread, so that ``sql_functions.py`` knows them by name.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import Token, TokenType, exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

from discreet.errors import BadQuestion, Unsupported
from discreet.table.said import checked_text

LONGEST = 100_000
"""Characters of a text."""
DEEPEST = 32
"""Open parentheses and CASEs at one place; sqlglot needs some 20 frames of Python's stack for each."""
DEEPEST_TREE = 100

_SCALARS = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE", "CHAR", "VARCHAR", "TEXT", "DATE",
    "TIME", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "DATETIME",
)  # fmt: skip


class Discreet(Dialect):
    """SQL as we read it: standard SQL with what DuckDB and PostgreSQL share."""

    NULL_ORDERING = "nulls_are_last"

    class Tokenizer(tokens.Tokenizer):
        """Knows the division of whole numbers, too."""

        KEYWORDS: ClassVar = {**tokens.Tokenizer.KEYWORDS, "//": TokenType.DIV}

    class Parser(parser.Parser):
        """Knows syntax, and no function that looks like a function."""

        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {
            name: parser.Parser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM")
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": parser.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
        STATEMENT_PARSERS: ClassVar = {}
        PIPE_SYNTAX_TRANSFORM_PARSERS: ClassVar = {}
        # IS binds as loosely as the comparisons do, so that a = b IS NULL asks whether a = b is NULL.
        IS_PREDICATE_PRECEDENCE: ClassVar = parser.IsPredicatePrecedence.LOW
        # Only plain types: the others read names as texts of their own, with a parser that has no limit.
        TYPE_TOKENS: ClassVar = {TokenType[name] for name in _SCALARS}
        NESTED_TYPE_TOKENS: ClassVar = set()
        STRUCT_TYPE_TOKENS: ClassVar = set()
        ENUM_TYPE_TOKENS: ClassVar = set()
        AGGREGATE_TYPE_TOKENS: ClassVar = set()

        def _parse_types(
            self,
            check_func: bool = False,
            schema: bool = False,
            allow_identifiers: bool = True,
            with_collation: bool = False,
        ) -> exp.Expr | None:
            return super()._parse_types(check_func, schema, allow_identifiers=False, with_collation=with_collation)


_DIALECT = Discreet()


def read_select(text: str) -> exp.Expr:
    """The tree of one SELECT."""
    found = _tokens(text)
    _check_statement(found)
    return _parsed(None, found, text)


def read_expression(text: str) -> exp.Expr:
    """The tree of one expression, perhaps with a name after AS."""
    return _parsed(exp.Expr, _tokens(text), text)


def _tokens(text: str) -> list[Token]:
    given: object = text
    if not isinstance(given, str):
        raise BadQuestion("a question must be a text")
    if len(text) > LONGEST:
        raise BadQuestion(f"a question has at most {LONGEST:,} characters")
    checked_text(text)
    try:
        found = list(_DIALECT.tokenize(text))
    except SqlglotError:
        raise BadQuestion("this is not SQL that we understand: a quote or a comment does not end") from None
    while found and found[-1].token_type is TokenType.SEMICOLON:
        found.pop()
    if not found:
        raise BadQuestion("there is no question in this text")
    _check_words(found)
    _check_nesting(found)
    return found


def _parsed(wanted: type[exp.Expr] | None, found: list[Token], text: str) -> exp.Expr:
    """The tree of the wanted kind, or of a statement."""
    reader = _DIALECT.parser(max_nodes=100 + 10 * len(found), error_message_context=0)
    try:
        trees = reader.parse(found, text) if wanted is None else reader.parse_into(wanted, found, text)
    except ParseError as error:
        raise _misread(error) from None
    except RecursionError:
        raise BadQuestion("this question is nested too deeply; ask more simply") from None
    except Exception:  # a parser that trips over a text has not understood it
        raise BadQuestion("this is not SQL that we understand") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Expr):
        raise BadQuestion("this is not SQL that we understand")
    _check_tree(trees[0])
    return trees[0]


def _misread(error: ParseError) -> BadQuestion:
    place = error.errors[0] if error.errors else {}
    line, column = place.get("line"), place.get("col")
    if isinstance(line, int) and isinstance(column, int):
        return BadQuestion(f"this is not SQL that we understand, near line {line} column {column}")
    return BadQuestion("this is not SQL that we understand")


# --- before sqlglot reads it ------------------------------------------------------------------------------------------

_STATEMENTS = frozenset(
    {
        "ALTER", "ANALYZE", "ATTACH", "BEGIN", "CALL", "CHECKPOINT", "COMMENT", "COMMIT", "COPY", "CREATE",
        "DEALLOCATE", "DELETE", "DESC", "DESCRIBE", "DETACH", "DROP", "EXECUTE", "EXPLAIN", "EXPORT", "GRANT",
        "IMPORT", "INSERT", "INSTALL", "KILL", "LOAD", "MERGE", "PIVOT", "PRAGMA", "PREPARE", "RESET", "REVOKE",
        "ROLLBACK", "SET", "SHOW", "SUMMARIZE", "TABLE", "TRUNCATE", "UNPIVOT", "UPDATE", "USE", "VACUUM", "VALUES",
    }
)  # fmt: skip
_BEGINS = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.FROM)

_PARAMETER = ("a parameter", "write the value itself")
_LIST = ("a list or an index", "use plain columns and constants")
_JSON = ("an operator on JSON", "use plain columns and constants")
_MARKS: dict[TokenType, tuple[str, str]] = {
    TokenType.PLACEHOLDER: _PARAMETER,
    TokenType.PARAMETER: _PARAMETER,
    TokenType.SESSION_PARAMETER: _PARAMETER,
    TokenType.COLON: _PARAMETER,
    TokenType.L_BRACKET: _LIST,
    TokenType.R_BRACKET: _LIST,
    TokenType.L_BRACE: ("a struct or a template", "use plain columns and constants"),
    TokenType.R_BRACE: ("a struct or a template", "use plain columns and constants"),
    TokenType.BLOCK_START: ("a template", "write the SQL itself"),
    TokenType.BLOCK_END: ("a template", "write the SQL itself"),
    TokenType.ARROW: _JSON,
    TokenType.DARROW: _JSON,
    TokenType.HASH_ARROW: _JSON,
    TokenType.DHASH_ARROW: _JSON,
    TokenType.LR_ARROW: _JSON,
    TokenType.FARROW: ("a named argument", "give the arguments in their order"),
    TokenType.COLON_EQ: ("an assignment", "give names with AS"),
    TokenType.PIPE_GT: ("the pipe syntax", "write SELECT ... FROM ..."),
    TokenType.HINT: ("a hint to the optimizer", "leave it out"),
    TokenType.OPERATOR: ("OPERATOR(...)", "write the operator itself"),
}


def _check_words(found: list[Token]) -> None:
    """Refuses marks that have no place in any question, and what sqlglot would read as something else."""
    for before, token in zip([None, *found], found, strict=False):
        kind = token.token_type
        if kind is TokenType.SEMICOLON:
            raise Unsupported("a second statement", "ask one SELECT at a time")
        if kind in _MARKS:
            raise Unsupported(*_MARKS[kind])
        if kind is TokenType.VAR and "$" in token.text:
            raise Unsupported(*_PARAMETER)
        if before is None:
            continue
        if before.token_type is TokenType.NUMBER and token.start == before.end + 1 and _wordlike(token):
            raise BadQuestion(f"a number is followed by letters, near line {token.line} column {token.col}")
        if kind is TokenType.STRING and before.token_type in (TokenType.FROM, TokenType.JOIN):
            raise Unsupported("a file in FROM", "name a table of the session")
        if kind is TokenType.STRING and before.token_type is TokenType.ALIAS:
            raise Unsupported("a text as a name", 'quote names as "name"')


def _wordlike(token: Token) -> bool:
    return token.text[:1].isalnum() or token.text[:1] == "_"


def _check_nesting(found: list[Token]) -> None:
    depth = 0
    for token in found:
        if token.token_type in (TokenType.L_PAREN, TokenType.CASE):
            depth += 1
        elif token.token_type in (TokenType.R_PAREN, TokenType.END):
            depth = max(0, depth - 1)
        if depth > DEEPEST:
            raise BadQuestion(f"parentheses and CASEs are nested more than {DEEPEST} deep; ask more simply")


def _check_statement(found: list[Token]) -> None:
    first = found[0]
    word = first.text.upper()
    if word in _STATEMENTS and first.token_type is not TokenType.IDENTIFIER:
        raise Unsupported(f"the statement {word}", "ask one SELECT")
    if first.token_type not in _BEGINS:
        raise BadQuestion("a question must begin with SELECT or WITH")


# --- after ------------------------------------------------------------------------------------------------------------


def _check_tree(tree: exp.Expr) -> None:
    """Refuses a tree that is too deep to walk. A long AND, OR, || or UNION ALL is one level, as ``chain`` reads it."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST_TREE:
            raise BadQuestion(f"an expression is nested more than {DEEPEST_TREE} deep; ask more simply")
        long = isinstance(node, exp.And | exp.Or | exp.DPipe | exp.Union)
        waiting += [
            (child, depth if long and type(child) is type(node) else depth + 1) for child in node.iter_expressions()
        ]


def chain(node: exp.Binary | exp.Union) -> list[exp.Expr]:
    """What a chain of one operator joins, from left to right, however long; found without recursion."""
    found: list[exp.Expr] = []
    waiting: list[exp.Expr] = [node]
    while waiting:
        part = waiting.pop()
        if type(part) is type(node):
            waiting += [part.expression, part.this]
        else:
            found.append(part)
    return found
