/** Title of the browser tab: the progress of a long operation, or else the page. */

let page = 'Millrace';
let progress: string | null = null;

function apply(): void {
  document.title = progress === null ? page : `${progress} · Millrace`;
}

export function setPageTitle(title: string): void {
  page = `${title} · Millrace`;
  apply();
}

export function setTitleProgress(text: string | null): void {
  progress = text;
  apply();
}
