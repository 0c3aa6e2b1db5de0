import { defineLoop } from '@millrace/platform/loops';

export const expirePromoLoop = defineLoop({ name: 'take expired promotional credit', over: 'organisations' });
