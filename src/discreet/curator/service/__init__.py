"""The curator without HTTP: data sets, permissions, questions and their price."""
