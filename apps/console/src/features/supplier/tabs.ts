/** The parts of the pages of suppliers, as the URL names them. */
export const supplierTabs = ['machines', 'join'] as const;
export const moneyTabs = ['earnings', 'statements', 'payouts'] as const;
