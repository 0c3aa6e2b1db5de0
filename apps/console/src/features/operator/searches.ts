import { chosen, oneOf, textOf } from '../../app/search.ts';

/** What the pages of operators take from the URL: open tabs and filters, so that they survive reloading and sharing. */

type Search = Record<string, unknown>;

export const windowStatuses = ['announced', 'in_progress', 'completed', 'cancelled'] as const;
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

export function windowsSearch(search: Search) {
  return chosen({ status: oneOf(search['status'], windowStatuses), node: textOf(search['node']) });
}

export function rentalsSearch(search: Search) {
  return chosen({
    tab: oneOf(search['tab'], rentalTabs),
    status: oneOf(search['status'], rentalStatuses),
    mode: oneOf(search['mode'], ['live', 'test']),
    organisation: textOf(search['organisation']),
    node: textOf(search['node']),
  });
}

export function pricesSearch(search: Search) {
  return chosen({
    tab: oneOf(search['tab'], ['now', 'coming', 'all', 'reserve']),
    organisation: textOf(search['organisation']),
  });
}

export function organisationsSearch(search: Search) {
  return chosen({
    find: textOf(search['find']),
    status: oneOf(search['status'], ['active', 'suspended']),
  });
}

export function organisationSearch(search: Search) {
  return chosen({ tab: oneOf(search['tab'], organisationTabs) });
}

export function suppliersSearch(search: Search) {
  return chosen({
    tab: oneOf(search['tab'], ['suppliers', 'machines', 'payouts']),
    status: oneOf(search['status'], supplierStatuses),
    approval: oneOf(search['approval'], machineApprovals),
    payout: oneOf(search['payout'], payoutStatuses),
    supplier: textOf(search['supplier']),
  });
}

export function modelsSearch(search: Search) {
  return chosen({ model: textOf(search['model']) });
}

export function auditorSearch(search: Search) {
  return chosen({
    kind: oneOf(search['kind'], ['full', 'incremental']),
    clean: oneOf(search['clean'], ['true', 'false']),
  });
}
