import { apiDashboard } from './api.ts';
import type { Dashboard } from './dashboard.ts';
import { enginesDashboard } from './engines.ts';
import { fleetDashboard } from './fleet.ts';
import { inferenceDashboard } from './inference.ts';
import { moneyDashboard } from './money.ts';
import { overviewDashboard } from './overview.ts';

export const dashboards: readonly Dashboard[] = [
  overviewDashboard,
  apiDashboard,
  inferenceDashboard,
  moneyDashboard,
  fleetDashboard,
  enginesDashboard,
];
