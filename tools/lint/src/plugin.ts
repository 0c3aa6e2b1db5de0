import type { Rule } from './ast.ts';
import { divideOnlyInMoney } from './rules/divide-only-in-money.ts';
import { envOnlyInConfig } from './rules/env-only-in-config.ts';
import { linearRegexp } from './rules/linear-regexp.ts';
import { noTodoComments } from './rules/no-todo-comments.ts';
import { noUnfinishedTests } from './rules/no-unfinished-tests.ts';
import { glossaryWords } from './rules/glossary-words.ts';
import { injectedRandom } from './rules/injected-random.ts';
import { plainProse } from './rules/plain-prose.ts';
import { ownTablesOnly } from './rules/own-tables-only.ts';
import { storeHandleFirst } from './rules/store-handle-first.ts';
import { timeOnlyFromClock } from './rules/time-only-from-clock.ts';

const rules: Readonly<Record<string, Rule>> = {
  'divide-only-in-money': divideOnlyInMoney,
  'env-only-in-config': envOnlyInConfig,
  'glossary-words': glossaryWords,
  'linear-regexp': linearRegexp,
  'no-todo-comments': noTodoComments,
  'no-unfinished-tests': noUnfinishedTests,
  'own-tables-only': ownTablesOnly,
  'injected-random': injectedRandom,
  'plain-prose': plainProse,
  'store-handle-first': storeHandleFirst,
  'time-only-from-clock': timeOnlyFromClock,
};

// Oxlint requires the default export; .oxlintrc.json sets where each rule applies.
export default { meta: { name: 'house' }, rules };
