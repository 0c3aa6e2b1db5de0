/** The part of Grafana's dashboards that this product uses. */

/** Units as Grafana names them. */
export type Unit = 'short' | 's' | 'bytes' | 'percentunit' | 'reqps' | 'ops' | 'bool' | 'currencyUSD';

export interface Query {
  readonly expr: string;
  /** Labels in double braces are replaced by their values. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** Says how to read the panel. */
  readonly help: string;
  readonly kind: 'timeseries' | 'stat';
  readonly unit: Unit;
  readonly queries: readonly Query[];
}

export interface Dashboard {
  /** The name of its file, and its permanent id in Grafana. */
  readonly name: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

const panelOf =
  (kind: Panel['kind']) =>
  (title: string, unit: Unit, queries: Readonly<Record<string, string>>, help: string): Panel => ({
    ...{ title, help, kind, unit },
    queries: Object.entries(queries).map(([legend, expr]) => ({ legend, expr })),
  });

/** `queries` has the expression of each legend. */
export const timeseries = panelOf('timeseries');
export const stat = panelOf('stat');

/** Requests per second by a label. */
export const rateBy = (metric: string, labels: string, selector = ''): string =>
  `sum by (${labels}) (rate(${metric}${selector}[5m]))`;

export const quantileBy = (quantile: number, histogram: string, labels = ''): string =>
  `histogram_quantile(${quantile}, sum by (${['le', labels].filter((part) => part !== '').join(', ')}) (rate(${histogram}_bucket[5m])))`;
