import { quantileBy, rateBy, timeseries, type Dashboard } from './dashboard.ts';

const gpusBy = (metric: string): string => `max by (region, gpu_type) (${metric}{mode="live"})`;
const ofType = '{{region}} {{gpu_type}}';

export const fleetDashboard: Dashboard = {
  name: 'fleet',
  title: 'fleet',
  panels: [
    timeseries(
      'Sold GPUs',
      'short',
      { [ofType]: gpusBy('millrace_fleet_gpus_sold') },
      'With those being released.',
    ),
    timeseries(
      'Free GPUs',
      'short',
      { [ofType]: gpusBy('millrace_fleet_gpus_free') },
      'GPUs that can be sold now.',
    ),
    timeseries(
      'Faulty GPUs',
      'short',
      { [ofType]: gpusBy('millrace_fleet_gpus_faulty') },
      'GPUs that cannot be sold because of a fault.',
    ),
    timeseries(
      'Nodes by status',
      'short',
      { '{{status}}': 'max by (status) (millrace_fleet_nodes)' },
      'Nodes of all clusters.',
    ),
    timeseries(
      'Age of the inventory',
      's',
      { '{{cluster}}': 'min by (cluster) (millrace_fleet_read_age_seconds)' },
      'Time since a cluster responded.',
    ),
    timeseries(
      'Reads of clusters',
      'ops',
      { '{{outcome}}': rateBy('millrace_fleet_reads_total', 'outcome') },
      'Silent: the cluster did not respond.',
    ),
    timeseries(
      'Duration of reads, 95 %',
      's',
      { '{{driver}}': quantileBy(0.95, 'millrace_fleet_read_seconds', 'driver') },
      'Time until an engine reports its inventory.',
    ),
    timeseries(
      'Repairs',
      'ops',
      { '{{kind}}': rateBy('millrace_rentals_repairs_total', 'kind') },
      'Repairs of rentals and their machines.',
    ),
    timeseries(
      'Orphans and stuck deletions',
      'short',
      {
        'orphans of {{cluster}}': 'max by (cluster) (millrace_rentals_strays_held)',
        'orphan volumes of {{node}}': 'max by (node) (millrace_volumes_strays)',
        'deletions within an hour': 'sum(increase(millrace_rentals_stuck_removals_total[1h]))',
      },
      'Each needs an operator.',
    ),
    timeseries(
      'Storage nodes',
      'short',
      { 'silent: {{node}}': 'max by (node) (millrace_volumes_silent_nodes)' },
      'Storage nodes whose agent does not respond.',
    ),
    timeseries(
      "Suppliers' machines",
      'short',
      { '{{stage}}': 'max by (stage) (millrace_suppliers_machines)' },
      'Machines of suppliers by stage.',
    ),
    timeseries(
      'Hostnames of instances',
      'short',
      { served: 'max(millrace_marketplace_names)' },
      'Hostnames that the proxy serves.',
    ),
  ],
};
