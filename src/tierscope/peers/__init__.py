"""Programs whose commands, files and output tierscope takes or gives: a folder each."""
