import type { AlertRule } from './alert-rule.ts';
import { deliveryRules } from './delivery-rules.ts';
import { engineRules } from './engine-rules.ts';
import { moneyRules } from './money-rules.ts';
import { processRules } from './process-rules.ts';
import { requestRules } from './request-rules.ts';

export type { AlertRule } from './alert-rule.ts';
export { renderRules } from './render-rules.ts';
export { inFastTime } from './fast-time.ts';

export const alertRules: readonly AlertRule[] = [
  ...processRules,
  ...engineRules,
  ...requestRules,
  ...moneyRules,
  ...deliveryRules,
];
