/** When a secret that was replaced stops working, in seconds from now: what a person may choose from. */
export const rotationOverlaps = [
  { value: '0', label: 'At once' },
  { value: '3600', label: 'After an hour' },
  { value: '86400', label: 'After a day' },
  { value: '604800', label: 'After 7 days' },
] as const;
