export const supplierTabs = ['machines', 'join'] as const;
export const moneyTabs = ['earnings', 'statements', 'payouts'] as const;
