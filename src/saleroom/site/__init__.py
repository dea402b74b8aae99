"""The parts that all pages share: layout, assets, languages, amounts."""
