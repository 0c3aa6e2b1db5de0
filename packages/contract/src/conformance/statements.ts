import { eventApiVersion } from '../events.ts';
import type { Operation } from '../operation.ts';
import { machineReadyState, rentalStates, volumeStates } from '../states.ts';
import { backticked } from './grammar.ts';
import type { SpecText } from './spec-text.ts';
import { sectionNamed, sentence, tableOf } from './markdown.ts';

/** Compares single statements of the text, outside its tables of fields, with the contract. */

function stateProblems(text: SpecText): string[] {
  const { rows } = tableOf(sectionNamed(text.sections, 'States and transitions'));
  const known: readonly [object: string, states: readonly string[], byDefault: string][] = [
    ['Bare-metal rental status', Object.keys(rentalStates.states), 'Unknown'],
    ['Storage volume status', Object.keys(volumeStates.states), 'unknown'],
  ];
  const problems = rows.length === known.length + 1 ? [] : [`States: text ${rows.length} objects`];
  for (const [object, states, byDefault] of known) {
    const cell = rows.find((row) => row[0] === object)?.[1] ?? '';
    const [listed, fallback] = cell.split(' (default ');
    const stated = backticked(listed ?? '')
      .toSorted()
      .join();
    if (stated !== states.toSorted().join())
      problems.push(`${object}: text ${stated}, contract ${states.join()}`);
    if (backticked(fallback ?? '').join() !== byDefault) problems.push(`${object}: text default ${fallback}`);
  }
  const machine = sectionNamed(text.sections, 'Marketplace machine');
  const ready = [
    rows.find((row) => row[0] === 'Marketplace machine/instance status')?.[1] ?? '',
    tableOf(machine).rows.find((row) => row[0] === 'status')?.[1] ?? '',
  ];
  for (const cell of ready) {
    if (backticked(cell).join() !== machineReadyState) problems.push(`ready value: text "${cell}"`);
  }
  return problems;
}

/** Every inference operation must declare the header with the request id. */
function requestIdProblems(text: SpecText, operations: readonly Operation[]): string[] {
  const section = sectionNamed(text.sections, 'POST /v2/usage/request-cost');
  const header =
    sentence(section, /request ids come from the response header `(.*?)` of inference responses/)[1] ?? '';
  return operations
    .filter((operation) => operation.errorFamily === 'inference')
    .filter((operation) => !Object.hasOwn(operation.response.headers ?? {}, header))
    .map((operation) => `${operation.id}: does not declare the header ${header}`);
}

function versionProblems(text: SpecText, operations: readonly Operation[]): string[] {
  const section = sectionNamed(text.sections, 'Versioning');
  const v2 = sentence(section, /carries version (\S+) in its description and the path prefix `(.*?)`\.$/);
  const alpha = sentence(
    section,
    /^- On-demand operations sit under the path segment `(.*?)` \(`(.*?)\.\.\.`\)\.$/,
  );
  const v1 = sentence(
    section,
    /sit under the prefix `(.*?)`; the balance operation is at `(.*?)\.\.\.` without a version prefix/,
  );
  const problems = v2[1] === eventApiVersion ? [] : [`version: text ${v2[1]}, contract ${eventApiVersion}`];
  const expect = (what: string, concerned: readonly Operation[], prefix = ''): void => {
    const outside = concerned.filter((operation) => !operation.path.startsWith(prefix));
    if (concerned.length === 0) problems.push(`${what}: no operation`);
    for (const operation of outside) problems.push(`${what}: ${operation.path} is not under ${prefix}`);
  };
  expect(
    'v2',
    operations.filter(({ document }) => document === 'v2'),
    `${v2[2]}/`,
  );
  expect(
    'on-demand',
    operations.filter(({ path }) => path.includes('on-demand')),
    alpha[2],
  );
  expect(
    'on-demand',
    operations.filter(({ path }) => path.includes('on-demand')),
    `${v2[2]}/${alpha[1]}/`,
  );
  expect(
    'balance',
    operations.filter(({ tags }) => tags.includes('billing')),
    v1[2],
  );
  expect(
    'v1',
    operations.filter(({ document, tags }) => document === 'v1' && !tags.includes('billing')),
    `${v1[1]}/`,
  );
  return problems;
}

/** Sentences that other code implements. If one changes, that code must be checked. */
function requireSentences(text: SpecText): void {
  const authentication = sectionNamed(text.sections, 'Authentication');
  sentence(
    authentication,
    /^- Header `Authorization: Bearer <API_KEY>` on every operation except the marketplace machine listing, which needs none\.$/,
  );
  sentence(
    authentication,
    /^- The v2 description names one security scheme, `Authorization`, applied to every v2 operation\.$/,
  );
  const v1 = sectionNamed(text.sections, 'v1 operations');
  sentence(
    v1,
    /`Content-Type: application\/json`; Bearer header required except for the marketplace listing\.$/,
  );
  sentence(
    sectionNamed(text.sections, 'Rental record'),
    /^No fields other than these appear in the bare-metal create response\.$/,
  );
}

export function statementProblems(text: SpecText, operations: readonly Operation[]): string[] {
  requireSentences(text);
  return [
    ...stateProblems(text),
    ...requestIdProblems(text, operations),
    ...versionProblems(text, operations),
  ];
}
