"""tierscope: measure every tier of memory and storage, and place data by what was measured."""
