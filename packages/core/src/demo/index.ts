export { readHistoryHeader } from './history.ts';
export { applyDemoSetting, invoiceIssuer, isDemoDatabase } from './demo-mark.service.ts';
export { loadHistory, type LoadResult } from './load-history.service.ts';
