/** Choices, in seconds, for when a replaced secret stops working. */
export const rotationOverlaps = [
  { value: '0', label: 'Immediately' },
  { value: '3600', label: 'After 1 hour' },
  { value: '86400', label: 'After 1 day' },
  { value: '604800', label: 'After 7 days' },
] as const;
