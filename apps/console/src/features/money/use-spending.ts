import { nowMs } from '../../api/clock.ts';
import { useApiQuery, type ApiRead } from '../../api/queries.ts';
import type { Budget } from './budgets.ts';
import type { Balance } from './runway.ts';
import { monthStart, spendByDay, type SpendDay } from './spend.ts';

const dayMs = 86_400_000;
const daysShown = 31;

export const balanceRead: ApiRead<Balance> = {
  key: ['money', 'balance'],
  read: (client, signal) => client.balance.get({}, { signal }),
};

/** At least the current month and the last 31 days. */
export const spendDaysRead: ApiRead<readonly SpendDay[]> = {
  key: ['money', 'spend-by-day'],
  read: async (client, signal) => {
    const now = nowMs();
    const from = Math.min(monthStart(now), now - (daysShown - 1) * dayMs);
    const since = `${new Date(from).toISOString().slice(0, 10)}T00:00:00.000Z`;
    const rows = await client.usage.list({ groupBy: 'day', from: since, limit: 200 }, { signal }).all();
    return spendByDay(rows, from, now);
  },
};

export const budgetsRead: ApiRead<readonly Budget[]> = {
  key: ['money', 'budgets', 'all'],
  read: (client, signal) => client.budgets.list({ limit: 200 }, { signal }).all(),
};

export function useBalance(enabled = true) {
  return useApiQuery(balanceRead.key, balanceRead.read, { refetchMs: 10_000, enabled });
}

export function useSpendDays(enabled = true) {
  return useApiQuery(spendDaysRead.key, spendDaysRead.read, { refetchMs: 60_000, enabled });
}
