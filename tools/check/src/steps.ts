export interface Step {
  readonly name: string;
  /** Printed when the step fails. */
  readonly finds: string;
  readonly command: readonly string[];
  /** Command that fixes what can be fixed automatically. */
  readonly fix?: readonly string[];
}

const sources = ['apps', 'packages', 'tools', 'tests', 'bench'];
const decisions = 'tools/check/decisions/main.ts';
const prose = 'tools/check/prose/main.ts';
const openapi = 'tools/openapi/src/main.ts';
const monitoring = 'tools/release/src/monitoring/main.ts';
const storedNames = 'tools/lint/main.ts';

/** Several checkers would compute the same types twice, and another step uses the other core. */
const oneChecker = ['--checkers', '1'];

/** Makes a second check of the same checkout ten times as fast. */
const incremental = ['--incremental', '--tsBuildInfoFile', '.millrace/types.tsbuildinfo'];

/** Longest first, so that short steps fill the gaps on two cores. */
export const steps: readonly Step[] = [
  { name: 'lint', finds: 'code that violates a rule', command: ['oxlint'], fix: ['oxlint', '--fix'] },
  { name: 'types', finds: 'type errors', command: ['tsc', '--noEmit', ...oneChecker, ...incremental] },
  {
    name: 'types-console',
    finds: 'type errors of the console, which runs in a browser',
    command: ['tsc', '--noEmit', ...oneChecker, '-p', 'apps/console/tsconfig.json'],
  },
  {
    name: 'console-size',
    finds: 'a console that does not build or whose first load is too large',
    command: ['tools/console/main.ts', 'size'],
  },
  { name: 'dead-code', finds: 'unused files, exports and dependencies', command: ['knip'] },
  {
    name: 'boundaries',
    finds: 'imports across a module boundary',
    command: ['depcruise', '--config', '.dependency-cruiser.mjs', '--output-type', 'err-long', ...sources],
  },
  {
    name: 'stored-names',
    finds: 'a list of stored names that differs from the schema and the API',
    command: [storedNames],
    fix: [storedNames, '--write'],
  },
  {
    name: 'migrations',
    finds: 'migrations that the previous release cannot run beside, or that block traffic',
    command: ['tools/lint/migrations/main.ts'],
  },
  { name: 'openapi-lint', finds: 'errors in the OpenAPI documents', command: [openapi, '--lint'] },
  {
    name: 'contract-bounds',
    finds: 'strings, lists and maps of requests without a size limit',
    command: [openapi, '--bounds'],
  },
  {
    name: 'decisions',
    finds: 'decision pages with missing parts or without an index entry',
    command: [decisions],
    fix: [decisions, '--write'],
  },
  {
    name: 'prose',
    finds: 'refused words, long sentences and long table cells in documents',
    command: [prose],
  },
  {
    name: 'openapi-current',
    finds: 'OpenAPI documents that differ from the contract',
    command: [openapi, '--check'],
    fix: [openapi],
  },
  {
    name: 'monitoring-current',
    finds: 'a list of metrics, alert rules or dashboards that differ from their sources',
    command: [monitoring, '--check'],
    fix: [monitoring],
  },
  { name: 'openapi-diff', finds: 'breaking changes of the public API', command: [openapi, '--diff'] },
  { name: 'format', finds: 'unformatted files', command: ['oxfmt', '--check', '.'], fix: ['oxfmt', '.'] },
];

export function chooseSteps(all: readonly Step[], only: readonly string[]): readonly Step[] {
  const names = only.flatMap((value) => value.split(',')).filter((name) => name !== '');
  for (const name of names) {
    if (!all.some((step) => step.name === name)) {
      throw new Error(
        `There is no step called "${name}". The steps are: ${all.map((step) => step.name).join(', ')}.`,
      );
    }
  }
  return names.length === 0 ? all : all.filter((step) => names.includes(step.name));
}
