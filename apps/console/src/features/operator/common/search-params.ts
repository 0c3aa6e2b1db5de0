import { withoutUndefined, enumParam, textParam } from '../../../app/search-params.ts';

/** URL parameters of the operator pages, so that tabs and filters survive a reload. */

type Search = Record<string, unknown>;

export const maintenanceStatuses = ['announced', 'in_progress', 'completed', 'cancelled'] as const;
export const rentalStatuses = [
  'Pending',
  'Running',
  'Unknown',
  'Failed',
  'Terminating',
  'Terminated',
] as const;
export const rentalTabs = ['rentals', 'reservations', 'volumes'] as const;
export const organisationTabs = ['money', 'members', 'rentals', 'discounts', 'audit'] as const;
export const supplierStatuses = ['applied', 'approved', 'rejected', 'suspended'] as const;
export const machineApprovals = ['pending', 'approved', 'rejected'] as const;
export const payoutStatuses = ['requested', 'paid', 'rejected'] as const;

export function parseMaintenanceSearch(search: Search) {
  return withoutUndefined({
    status: enumParam(search['status'], maintenanceStatuses),
    node: textParam(search['node']),
  });
}

export function parseAllRentalsSearch(search: Search) {
  return withoutUndefined({
    tab: enumParam(search['tab'], rentalTabs),
    status: enumParam(search['status'], rentalStatuses),
    mode: enumParam(search['mode'], ['live', 'test']),
    organisation: textParam(search['organisation']),
    node: textParam(search['node']),
  });
}

export function parsePricesSearch(search: Search) {
  return withoutUndefined({
    tab: enumParam(search['tab'], ['now', 'coming', 'all', 'reserve']),
    organisation: textParam(search['organisation']),
  });
}

export function parseOrganisationsSearch(search: Search) {
  return withoutUndefined({
    find: textParam(search['find']),
    status: enumParam(search['status'], ['active', 'suspended']),
  });
}

export function parseOrganisationSearch(search: Search) {
  return withoutUndefined({ tab: enumParam(search['tab'], organisationTabs) });
}

export function parseSuppliersSearch(search: Search) {
  return withoutUndefined({
    tab: enumParam(search['tab'], ['suppliers', 'machines', 'payouts']),
    status: enumParam(search['status'], supplierStatuses),
    approval: enumParam(search['approval'], machineApprovals),
    payout: enumParam(search['payout'], payoutStatuses),
    supplier: textParam(search['supplier']),
  });
}

export function parseModelsSearch(search: Search) {
  return withoutUndefined({ model: textParam(search['model']) });
}

export function parseAuditorSearch(search: Search) {
  return withoutUndefined({
    kind: enumParam(search['kind'], ['full', 'incremental']),
    clean: enumParam(search['clean'], ['true', 'false']),
  });
}
