import { defineLoop } from '@millrace/platform/loops';

export const closeKeys = defineLoop({ name: 'close due api keys', over: 'organisations' });
