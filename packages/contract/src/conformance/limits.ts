import { sectionNamed, tableOf } from './markdown.ts';
import type { SpecText } from './spec-text.ts';
import type { Facts } from './shape.ts';

/** Compares the section Limits, which repeats limits of the endpoints, with the contract. */

type Expectation = readonly [subject: string, fact: string, value: string];

const bareMetal = 'POST /v2/alpha/on-demand/bare-metal-rentals request';
const machine = 'POST /v2/alpha/on-demand/virtual-machine-rentals request';
const volume = 'POST /v2/alpha/on-demand/storage-volumes request';
const attach = 'POST /v2/alpha/on-demand/storage-volumes/attach request';
const cost = 'POST /v2/usage/request-cost';
const chat = 'POST /v1/chat/completions request';
const newVolume = 'storageVolume<isNew=true>';

function bounds(subject: string, path: string, [min = '', max = '']: readonly string[]): Expectation[] {
  return [
    [subject, `${path} min`, min],
    [subject, `${path} max`, max],
  ];
}

interface Rule {
  readonly pattern: RegExp;
  readonly expect: (numbers: readonly string[]) => readonly Expectation[];
}

/** One rule per row. A row without a rule is reported, because nothing would check it. */
const rules: readonly Rule[] = [
  {
    pattern: /^requestIds: max (\d+) items; requests: max (\d+) items \| request-cost$/,
    expect: ([ids = '', requests = '']) => [
      [`${cost} request`, 'requestIds maxItems', ids],
      [`${cost} response`, 'requests maxItems', requests],
    ],
  },
  {
    pattern: /^gpuCount minimum (\d+), multiple of (\d+) \| bare-metal rental create$/,
    expect: ([min = '', multiple = '']) => [
      [bareMetal, 'gpuCount min', min],
      [bareMetal, 'gpuCount multipleOf', multiple],
    ],
  },
  {
    pattern:
      /^label (\d+)\.\.(\d+) chars of letters, digits, underscore, hyphen \| storage volume label, new storage volume in bare-metal create$/,
    expect: ([min = '', max = '']) =>
      [
        [volume, 'label'],
        [bareMetal, `${newVolume}.label`],
      ].flatMap(([subject = '', path = '']): Expectation[] => [
        [subject, `${path} minLength`, min],
        [subject, `${path} maxLength`, max],
        [subject, `${path} pattern`, 'label'],
      ]),
  },
  {
    pattern: /^sizeInGb (\d+)\.\.(\d+); multiple of (\d+) on storage-volume create \| storage volumes$/,
    expect: ([min = '', max = '', multiple = '']) => [
      ...bounds(volume, 'sizeInGb', [min, max]),
      ...bounds(bareMetal, `${newVolume}.sizeInGb`, [min, max]),
      [volume, 'sizeInGb multipleOf', multiple],
    ],
  },
  {
    pattern: /^customPorts max (\d+) items, each (\d+)\.\.(\d+) \| VM rental create and provider data$/,
    expect: ([items = '', ...range]) =>
      [
        [machine, 'customPorts'],
        ['Provider data', '<providerId=provider-v8>.customPorts'],
        ['Provider data', '<providerId=mock>.customPorts'],
      ].flatMap(([subject = '', path = '']): Expectation[] => [
        [subject, `${path} maxItems`, items],
        ...bounds(subject, `${path}[]`, range),
      ]),
  },
  {
    pattern: /^rentalIds min (\d+) item \| attach$/,
    expect: ([min = '']) => [[attach, 'rentalIds minItems', min]],
  },
  {
    // Only the allocator knows what is available; the registry has the error reason.
    pattern: /^gpu_count not above GPUs available on the node \| marketplace instance create$/,
    expect: () => [],
  },
  {
    pattern:
      /^top_logprobs (\d+)\.\.(\d+); logit_bias values (-?\d+)\.\.(\d+); temperature (\d+)\.\.(\d+); top_p, min_p (\d+)\.\.(\d+); penalties (\d+)\.\.(\d+) \| chat completions$/,
    expect: (numbers) => [
      ...bounds(chat, 'top_logprobs', numbers.slice(0, 2)),
      ...bounds(chat, 'logit_bias[]', numbers.slice(2, 4)),
      ...bounds(chat, 'temperature', numbers.slice(4, 6)),
      ...bounds(chat, 'top_p', numbers.slice(6, 8)),
      ...bounds(chat, 'min_p', numbers.slice(6, 8)),
      ...bounds(chat, 'frequency_penalty', numbers.slice(8, 10)),
      ...bounds(chat, 'presence_penalty', numbers.slice(8, 10)),
    ],
  },
];

export function limitProblems(text: SpecText, facts: ReadonlyMap<string, Facts>): string[] {
  const rows = tableOf(sectionNamed(text.sections, 'Limits')).rows.map((row) => row.join(' | '));
  const problems =
    rows.length === rules.length ? [] : [`Limits: text ${rows.length} rows, known ${rules.length}`];
  for (const row of rows) {
    const rule = rules.find(({ pattern }) => pattern.test(row));
    if (rule === undefined) {
      problems.push(`Limits: no rule reads "${row}"`);
      continue;
    }
    for (const [subject, fact, value] of rule.expect(rule.pattern.exec(row)?.slice(1) ?? [])) {
      const found = facts.get(subject)?.get(fact);
      if (found !== value)
        problems.push(`Limits: ${subject}: ${fact}: text ${value}, contract ${found ?? 'nothing'}`);
    }
  }
  return problems;
}
