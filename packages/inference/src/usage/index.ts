export { createUsageReporter } from './reporter.ts';
export type { UsageReporter, UsageReporterOptions } from './reporter.ts';
