import { chosen, oneOf, textOf } from '../../app/search.ts';

export const nodeStatuses = [
  'node_ready',
  'node_draining',
  'node_offline',
  'node_quarantined',
  'node_registering',
] as const;

/** What of the fleet is shown, as the URL has it. */
export function fleetSearch(search: Record<string, unknown>) {
  return chosen({
    view: oneOf(search['view'], ['map', 'table']),
    region: textOf(search['region']),
    provider: textOf(search['provider']),
    status: oneOf(search['status'], nodeStatuses),
    gpu: textOf(search['gpu']),
    find: textOf(search['find']),
  });
}
