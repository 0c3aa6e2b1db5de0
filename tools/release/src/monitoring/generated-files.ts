import { alertRules } from './alerts/index.ts';
import { renderRules, renderRuleTests } from './alerts/render-rules.ts';
import { dashboards } from './dashboards/index.ts';
import { renderDashboard } from './dashboards/render-dashboard.ts';
import { renderMetricsPage } from './metrics-page.ts';

export interface GeneratedFile {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
}

/** Files for monitoring that are generated and committed. */
export function generatedFiles(): readonly GeneratedFile[] {
  return [
    { path: 'docs/metrics.md', text: renderMetricsPage() },
    { path: 'deploy/monitoring/alerts/millrace.yml', text: renderRules(alertRules) },
    { path: 'deploy/monitoring/alerts/millrace.test.yml', text: renderRuleTests(alertRules, 'millrace.yml') },
    ...dashboards.map((dashboard) => ({
      path: `deploy/monitoring/dashboards/${dashboard.name}.json`,
      text: renderDashboard(dashboard),
    })),
  ];
}
