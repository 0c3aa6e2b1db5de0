import { withoutUndefined, enumParam, textParam } from '../../../app/search-params.ts';

export const nodeStatuses = [
  'node_ready',
  'node_draining',
  'node_offline',
  'node_quarantined',
  'node_registering',
] as const;

export function parseFleetSearch(search: Record<string, unknown>) {
  return withoutUndefined({
    view: enumParam(search['view'], ['map', 'table']),
    region: textParam(search['region']),
    provider: textParam(search['provider']),
    status: enumParam(search['status'], nodeStatuses),
    gpu: textParam(search['gpu']),
    find: textParam(search['find']),
  });
}
