export { Fault, invalidField, isFault } from './fault.ts';
export type { FaultIssue, FaultOptions } from './fault.ts';
export { renderFault } from './render-fault.ts';
export type { FaultTarget, RenderedFault } from './render-fault.ts';
export { issuesFromZod } from './zod-issues.ts';
