/** Actions in the audit log of an organisation. The API accepts any action, so one that is missing here can still be in the URL. */
const actionsByResource: Readonly<Record<string, readonly string[]>> = {
  budget: ['created', 'changed', 'deleted'],
  deployment: ['created', 'changed', 'deleted'],
  instance: ['created', 'terminated', 'written_off'],
  invitation: ['created', 'renewed', 'accepted', 'declined', 'canceled'],
  join_token: ['created', 'revoked'],
  key: ['created', 'revoked'],
  machine: ['joining', 'approved', 'rejected', 'offered', 'drained', 'resumed', 'withdrawn'],
  member: ['added', 'updated', 'removed'],
  money: ['granted', 'adjusted', 'refunded', 'reversed', 'overdraft_set', 'unfrozen'],
  notice_preferences: ['changed'],
  organisation: ['created', 'updated', 'suspended', 'resumed'],
  payout: ['requested', 'paid', 'rejected'],
  rental: ['created', 'changed', 'start', 'stop', 'reboot', 'extend', 'terminated', 'written_off'],
  snapshot: ['created', 'restored', 'deleted'],
  ssh_key: ['created', 'deleted'],
  supplier: ['applied', 'approved', 'suspended'],
  top_up: ['created'],
  volume: ['created', 'changed', 'attached', 'detached', 'deleted', 'written_off'],
  webhook: ['created', 'updated', 'secret_rotated', 'replayed', 'disabled', 'deleted'],
};

const resourceLabels: Readonly<Record<string, string>> = {
  key: 'API key',
  'api-key': 'API key',
  'ssh-public-key': 'SSH key',
  ssh_key: 'SSH key',
  top_up: 'Top-up',
  money: 'Balance',
};

/** Actions that are named by their request. */
const verbLabels: Readonly<Record<string, string>> = {
  start: 'started',
  stop: 'stopped',
  reboot: 'rebooted',
  extend: 'extended',
};

/** `key.created` as "API key created". */
export function actionLabel(action: string): string {
  const [resource = '', ...rest] = action.split('.');
  const verb = rest.join(' ').replaceAll('_', ' ');
  return `${resourceLabel(resource)} ${verbLabels[verb] ?? verb}`.trim();
}

export function resourceLabel(kind: string): string {
  const words = resourceLabels[kind] ?? kind.replaceAll(/[_-]/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function actionChoices(
  chosen: string | undefined,
): readonly { readonly value: string; readonly label: string }[] {
  const known = Object.entries(actionsByResource).flatMap(([resource, verbs]) =>
    verbs.map((verb) => `${resource}.${verb}`),
  );
  const all = chosen === undefined || known.includes(chosen) ? known : [...known, chosen];
  return all
    .map((value) => ({ value, label: actionLabel(value) }))
    .toSorted((one, other) => one.label.localeCompare(other.label));
}
