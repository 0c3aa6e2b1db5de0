import { defineLoop } from '@millrace/platform/loops';

/** Posts are one batch for many organisations; a meter that fails is postponed by itself. */
export const postMetersLoop = defineLoop({ name: 'post meters', over: 'organisations' });
/** Calls off stops that a budget required and that are no longer needed: one batch for many organisations. */
export const cancelStopsLoop = defineLoop({ name: 'call off stops', over: 'organisations' });
/** Each wallet is one transaction of a few statements, each with the time-out of the database. */
export const checkWalletsLoop = defineLoop({ name: 'walk wallets', over: 'organisations', atOnce: 4 });
