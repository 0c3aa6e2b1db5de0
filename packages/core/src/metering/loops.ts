import { defineLoop } from '@millrace/platform/loops';

/** Posts one batch for many organisations; only a meter that fails alone is postponed. */
export const postMetersLoop = defineLoop({ name: 'post meters', over: 'organisations' });
/** Cancels stops in one batch for many organisations. */
export const cancelStopsLoop = defineLoop({ name: 'call off stops', over: 'organisations' });
/** Each wallet is one transaction of a few statements, each with the database's statement timeout. */
export const checkWalletsLoop = defineLoop({ name: 'walk wallets', over: 'organisations', atOnce: 4 });
