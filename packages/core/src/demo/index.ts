export { applyDemoSetting, invoiceIssuer } from './demo-mark.service.ts';
