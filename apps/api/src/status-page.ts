import type { ComponentState, PublicStatus, StatusMonitor } from '@millrace/core/public-status';
import type { HttpServer } from '@millrace/platform/http';
import { escapeHtml } from './error-page.ts';
import { pageHeaders } from './page-headers.ts';

export interface StatusPageOptions {
  readonly status: Pick<StatusMonitor, 'current'>;
  /** The name of the installation. */
  readonly name: string;
  readonly hasConsole: boolean;
}

/** Browsers and proxies may keep the page for as long as one check is current. */
const cacheHeaders = { 'cache-control': 'public, max-age=10' } as const;

/**
 * The status that everyone may read, without a key. The status is in memory, so the page needs no engine. JSON may be read by
 * scripts of other origins.
 */
export function serveStatusPage(server: HttpServer, { status, name, hasConsole }: StatusPageOptions): void {
  const headers = { ...pageHeaders(style), ...cacheHeaders };
  const onRequest = server.admitFile;
  server.fastify.get('/status', { onRequest }, async (_request, reply) =>
    reply.headers(headers).send(renderStatusPage(status.current(), { name, hasConsole })),
  );
  server.fastify.get('/status.json', { onRequest }, async (_request, reply) =>
    reply.headers({ ...cacheHeaders, 'access-control-allow-origin': '*' }).send(status.current()),
  );
}

const words: Readonly<Record<ComponentState, string>> = {
  operational: 'Operational',
  maintenance: 'Maintenance',
  degraded: 'Limited',
  outage: 'Not available',
  unknown: 'Not known',
};

/** Text beside each mark says the same, so the marks have no names. */
const marks: Readonly<Record<ComponentState, string>> = {
  operational: '<path d="m8.5 12.5 2.5 2.5 5-5.5"/>',
  maintenance: '<path d="M12 7.5V12l3 2"/>',
  degraded: '<path d="M12 7.5v5M12 16v.1"/>',
  outage: '<path d="m9 9 6 6m0-6-6 6"/>',
  unknown: '<path d="M9.8 9.5a2.3 2.3 0 1 1 3.2 2.6c-.7.3-1 .8-1 1.4M12 16.2v.1"/>',
};

const markOf = (state: ComponentState): string =>
  `<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9"/>${marks[state]}</svg>`;

export function renderStatusPage(
  status: PublicStatus,
  { name, hasConsole }: Pick<StatusPageOptions, 'name' | 'hasConsole'>,
): string {
  const title = `Status of ${name}`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="description" content="${escapeHtml(`${title}: ${status.title}`)}">
<title>${escapeHtml(`${status.title} · ${title}`)}</title>
<style>${style}</style>
<header>${logo}<span>${escapeHtml(name)}</span>${hasConsole ? '<a href="/console/">Console</a>' : ''}</header>
<main>
<h1>${escapeHtml(title)}</h1>
<div class="overall ${status.state}">${markOf(status.state)}<div><p><strong>${status.title}</strong></p><p>${checkedText(status)}</p></div></div>
${noticeOf(status)}${incidentsOf(status)}${componentsOf(status)}${maintenanceOf(status)}</main>
<footer><p>This page is checked every 10 seconds. Reload it to see the latest status.</p><p><a href="/status.json">JSON</a> · <a href="/docs/errors">Errors of the API</a></p></footer>
</html>
`;
}

const minutes = { timeZone: 'UTC', dateStyle: 'medium', timeStyle: 'short' } as const;
const utcMinutes = new Intl.DateTimeFormat('en-GB', minutes);
const utcSeconds = new Intl.DateTimeFormat('en-GB', { ...minutes, timeStyle: 'medium' });

const timeOf = (at: string, format = utcSeconds): string =>
  `<time datetime="${escapeHtml(at)}">${escapeHtml(format.format(new Date(at)))} UTC</time>`;

function checkedText({ state, checkedAt, completeCheckAt }: PublicStatus): string {
  if (checkedAt === null) return 'No check has finished yet.';
  if (state === 'unknown') return `The checks have stopped. Last checked at ${timeOf(checkedAt)}.`;
  const text = `Last checked at ${timeOf(checkedAt)}.`;
  if (completeCheckAt === checkedAt) return text;
  const last = completeCheckAt === null ? '' : ` The last complete check was at ${timeOf(completeCheckAt)}.`;
  return `${text} Some information could not be read.${last}`;
}

/** Paragraphs are separated by empty lines. */
function noticeOf({ notice }: PublicStatus): string {
  if (notice === null) return '';
  const paragraphs = notice.split(/\n{2,}/).map((text) => `<p>${escapeHtml(text)}</p>`);
  return `<section class="notice"><h2>Message of the operator</h2>${paragraphs.join('')}</section>\n`;
}

function incidentsOf({ incidents }: PublicStatus): string {
  if (incidents.length === 0) return '';
  const items = incidents.map(
    ({ title, effect, since }) =>
      `<li><p><strong>${escapeHtml(title)}</strong></p><p>${escapeHtml(effect)}</p><p class="soft">Since ${timeOf(since, utcMinutes)}</p></li>`,
  );
  return `<section><h2>Incidents</h2><ul>${items.join('')}</ul></section>\n`;
}

function componentsOf({ components }: PublicStatus): string {
  const items = components.map(({ name, region, state }) => {
    const place = region === null ? '' : ` <span class="soft">${escapeHtml(region)}</span>`;
    return `<li class="row"><span>${name}${place}</span><span class="state ${state}">${markOf(state)}${words[state]}</span></li>`;
  });
  return `<section><h2>Services</h2><ul>${items.join('')}</ul></section>\n`;
}

function maintenanceOf({ maintenance }: PublicStatus): string {
  const items = maintenance.map(({ regions, startsAt, endsAt, inProgress }) => {
    const what = `Some machines in ${escapeHtml(regions.join(', '))}`;
    const state = inProgress
      ? '<span class="state maintenance">In progress</span>'
      : '<span class="soft">Planned</span>';
    return `<li class="row"><div><p>${what}</p><p class="soft">${timeOf(startsAt, utcMinutes)} to ${timeOf(endsAt, utcMinutes)}</p></div>${state}</li>`;
  });
  const list =
    items.length === 0
      ? '<p class="soft none">No maintenance is planned.</p>'
      : `<ul>${items.join('')}</ul><p class="soft none">Organisations with rentals on these machines have been notified.</p>`;
  return `<section><h2>Maintenance</h2>${list}</section>\n`;
}

const logo =
  '<svg viewBox="0 0 32 32" aria-hidden="true" class="logo"><rect width="32" height="32" rx="7"/><path d="M5 21c4 0 4-4 8-4s4 4 8 4 4-4 7-4M5 14c4 0 4-4 8-4s4 4 8 4 4-4 7-4"/></svg>';

/** The console's design tokens; the api might not serve the console. */
const style = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f8f8, #0c1113); --surface: light-dark(#ffffff, #141a1d); --line: light-dark(#dde4e4, #2a3539);
  --ink: light-dark(#12201e, #e9efef); --soft: light-dark(#51605f, #a3b3b3); --accent: light-dark(#0f766e, #2dd4bf);
  --good: light-dark(#166534, #86efac); --good-soft: light-dark(#e3f6e8, #12301c);
  --warn: light-dark(#8a4b08, #fcd34d); --warn-soft: light-dark(#fdf1d8, #33270d);
  --bad: light-dark(#b42318, #fda29b); --bad-soft: light-dark(#fdeae8, #3a1715);
  --info: light-dark(#1d4ed8, #93c5fd); --info-soft: light-dark(#e4ecfd, #14233f);
}
* { box-sizing: border-box; margin: 0; padding: 0; }
body { font: 14px/1.45 system-ui, sans-serif; background: var(--ground); color: var(--ink); overflow-wrap: break-word; }
header, main, footer { max-width: 46rem; margin: 0 auto; padding: 0 1rem; }
header { display: flex; align-items: center; gap: .6rem; padding-top: 1.25rem; padding-bottom: 1.25rem; font-weight: 600; }
header a { margin-left: auto; font-weight: 400; }
a { color: var(--accent); text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h1 { font-size: 1.625rem; line-height: 2rem; letter-spacing: -.02em; font-weight: 600; margin-bottom: 1rem; text-wrap: balance; }
h2 { font-size: 1rem; font-weight: 600; padding: .9rem 1rem .6rem; }
strong { font-weight: 600; }
.soft { color: var(--soft); }
svg { width: 1.25em; height: 1.25em; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; flex: none; }
.logo { width: 1.5rem; height: 1.5rem; stroke: #ecfeff; stroke-width: 2.6; }
.logo rect { fill: #0f766e; stroke: none; }
.overall { display: flex; gap: .75rem; align-items: center; padding: 1rem; border-radius: .625rem; margin-bottom: 1.5rem; }
.overall svg { width: 1.75rem; height: 1.75rem; }
.overall strong { font-size: 1.125rem; }
section { background: var(--surface); border: 1px solid var(--line); border-radius: .625rem; margin-bottom: 1.5rem; overflow: hidden; }
ul { list-style: none; }
li { padding: .75rem 1rem; border-top: 1px solid var(--line); }
li p + p { margin-top: .15rem; }
.row { display: flex; justify-content: space-between; align-items: center; gap: 1rem; }
.row > :first-child { min-width: 0; }
.row > :last-child { flex: none; }
time { white-space: nowrap; }
.state { display: inline-flex; align-items: center; gap: .35rem; padding: .1rem .5rem; border-radius: .375rem; font-weight: 500; }
.operational { background: var(--good-soft); color: var(--good); }
.maintenance { background: var(--info-soft); color: var(--info); }
.degraded { background: var(--warn-soft); color: var(--warn); }
.outage { background: var(--bad-soft); color: var(--bad); }
.unknown { background: var(--line); color: var(--ink); }
.none { padding: 0 1rem 1rem; }
ul + .none { padding-top: .75rem; border-top: 1px solid var(--line); }
.notice { border-color: var(--info); }
.notice p { padding: 0 1rem .9rem; white-space: pre-line; }
footer { color: var(--soft); padding-bottom: 2.5rem; }
footer p + p { margin-top: .25rem; }
`;
