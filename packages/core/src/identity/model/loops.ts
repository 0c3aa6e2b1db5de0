import { defineLoop } from '@millrace/platform/loops';

export const keyExpiryLoop = defineLoop({ name: 'close due api keys', over: 'organisations' });
