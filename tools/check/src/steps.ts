export interface Step {
  readonly name: string;
  /** What a person learns when it fails. */
  readonly finds: string;
  readonly command: readonly string[];
  /** The command that mends what can be mended by a machine. */
  readonly fix?: readonly string[];
}

const sources = ['apps', 'packages', 'tools', 'tests', 'bench'];
const decisions = 'tools/check/decisions/main.ts';
const openapi = 'tools/openapi/src/main.ts';
const storedNames = 'tools/lint/main.ts';

/** Each of several checkers works out the same types for itself; another step has the other core. */
const oneChecker = ['--checkers', '1'];

/** A second check of the same checkout then takes a tenth of the time. */
const incremental = ['--incremental', '--tsBuildInfoFile', '.millrace/types.tsbuildinfo'];

/** Longest first: on two cores the short ones then fill the gaps. */
export const steps: readonly Step[] = [
  { name: 'lint', finds: 'code that breaks a rule', command: ['oxlint'], fix: ['oxlint', '--fix'] },
  { name: 'types', finds: 'type errors', command: ['tsc', '--noEmit', ...oneChecker, ...incremental] },
  {
    name: 'types-console',
    finds: 'type errors of the console, which runs in a browser',
    command: ['tsc', '--noEmit', ...oneChecker, '-p', 'apps/console/tsconfig.json'],
  },
  {
    name: 'console-size',
    finds: 'a console that does not build, or whose first load is too heavy',
    command: ['tools/console/main.ts', 'size'],
  },
  { name: 'dead-code', finds: 'files, exports and dependencies nobody uses', command: ['knip'] },
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
  { name: 'openapi-lint', finds: 'faults in the OpenAPI documents', command: [openapi, '--lint'] },
  {
    name: 'contract-bounds',
    finds: 'texts, lists and maps of requests without a bound on their size',
    command: [openapi, '--bounds'],
  },
  {
    name: 'decisions',
    finds: 'decision pages that lack a part or stand in no index',
    command: [decisions],
    fix: [decisions, '--write'],
  },
  {
    name: 'openapi-current',
    finds: 'OpenAPI documents that differ from the contract',
    command: [openapi, '--check'],
    fix: [openapi],
  },
  { name: 'openapi-diff', finds: 'breaking changes of the public interface', command: [openapi, '--diff'] },
  { name: 'format', finds: 'files not formatted', command: ['oxfmt', '--check', '.'], fix: ['oxfmt', '.'] },
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
