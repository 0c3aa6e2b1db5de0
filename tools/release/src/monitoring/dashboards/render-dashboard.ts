import type { Dashboard, Panel } from './dashboard.ts';

/** Version 39 of the model: Grafana 11 and later read it, and convert it to theirs. */
const SCHEMA_VERSION = 39;
/** Grafana's grid has 24 columns. */
const [COLUMNS, STAT_WIDTH, SERIES_WIDTH, STAT_HEIGHT, SERIES_HEIGHT] = [24, 6, 12, 4, 8];
const datasource = { type: 'prometheus', uid: '${datasource}' };

interface GridPosition {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** Renders the JSON that Grafana imports. The user chooses the data source there. */
export function renderDashboard({ name, title, panels }: Dashboard): string {
  const places = placesOf(panels);
  const dashboard = {
    uid: `millrace-${name}`,
    title: `Millrace: ${title}`,
    tags: ['millrace'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }],
    },
    panels: panels.map((panel, at) => renderPanel(panel, at + 1, places[at])),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function renderPanel({ kind, title, help, unit, queries }: Panel, id: number, gridPos?: GridPosition) {
  return {
    ...{ id, type: kind, title, description: help, gridPos, datasource },
    fieldConfig: { defaults: { unit }, overrides: [] },
    options:
      kind === 'stat'
        ? { reduceOptions: { calcs: ['lastNotNull'] } }
        : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, nth) => ({
      refId: String.fromCodePoint(65 + nth),
      ...{ datasource, expr, legendFormat: legend },
    })),
  };
}

/** From left to right, with a new line where a panel does not fit or has another height. */
function placesOf(panels: readonly Panel[]): readonly GridPosition[] {
  let [x, y, lineHeight] = [0, 0, 0];
  return panels.map(({ kind }) => {
    const [w, h] = kind === 'stat' ? [STAT_WIDTH, STAT_HEIGHT] : [SERIES_WIDTH, SERIES_HEIGHT];
    if (x + w > COLUMNS || (lineHeight !== 0 && h !== lineHeight)) [x, y] = [0, y + lineHeight];
    const place = { x, y, w, h };
    [x, lineHeight] = [x + w, h];
    return place;
  });
}
