export { createUsageReporter } from './usage-reporter.ts';
export type { UsageReporter, UsageReporterOptions } from './usage-reporter.ts';
