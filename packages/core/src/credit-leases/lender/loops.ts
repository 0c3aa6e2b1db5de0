import { defineLoop } from '@millrace/platform/loops';

/** Short waits: all of them fail while the pot Valkey is away, and are due at once when it is back. */
const times = { timeoutMs: 30_000, firstRetryMs: 1, maxRetryMs: 60_000 };

const ofLeases = { over: 'organisations', ...times } as const;

export const startClosingLeases = defineLoop({ name: 'call in leases of pots', ...ofLeases });
export const finishClosingLeases = defineLoop({ name: 'close leases of pots', ...ofLeases });
/** The end of a silent gateway in one organisation's leases. */
export const endDeadHolders = defineLoop({ name: 'give up silent gateways', over: 'gateways', ...times });
/** Reservations of one ended gateway on one lease, given back in batches. */
export const releaseEndedHolders = defineLoop({ name: 'settle ended gateways', over: 'gateways', ...times });
