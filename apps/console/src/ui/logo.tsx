export function Logo() {
  return (
    <svg viewBox="0 0 32 32" className="size-6" aria-hidden>
      <rect width="32" height="32" rx="7" fill="#0f766e" />
      <path
        d="M5 21c4 0 4-4 8-4s4 4 8 4 4-4 7-4M5 14c4 0 4-4 8-4s4 4 8 4 4-4 7-4"
        fill="none"
        stroke="#ecfeff"
        strokeWidth="2.6"
        strokeLinecap="round"
      />
    </svg>
  );
}
