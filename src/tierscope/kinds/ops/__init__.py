"""Operations of databases on data structures whose parts are placed one by one."""
