# What make site gives to Sphinx. Pages are CommonMark with tables, as they are read in the repository; addresses of headings are
# the ones there, too.
import os

project = "familyseer"
copyright = "2026, the authors of familyseer"  # noqa: A001 (Sphinx's name)
release = os.environ["SITE_VERSION"]
html_title = f"familyseer {release}"
extensions = ["myst_parser"]
root_doc = "README"
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]  # decisions go from a title to their details
highlight_language = "none"
html_theme = "furo"
html_static_path = [os.environ["SITE_STATIC"]]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
