/** On every response of a demo: its amounts are play money, and closed response formats have no field for that. */
export const demoHeader = { name: 'x-millrace-demo', value: 'play money' } as const;
