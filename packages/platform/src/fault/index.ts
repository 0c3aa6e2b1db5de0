export { Fault, invalidField, isFault } from './fault.ts';
export type { FaultIssue, FaultOptions } from './fault.ts';
export { renderFault } from './bodies.ts';
export type { FaultTarget, RenderedFault } from './bodies.ts';
export { issuesFromZod } from './zod-issues.ts';
