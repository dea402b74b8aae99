"""What all pages share: layout, assets, languages, amounts."""
