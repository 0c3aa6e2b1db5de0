import { createContext, type ReactNode } from 'react';

/** A component of a feature that shows nothing and runs while an organisation is open. */
export const BackgroundContext = createContext<ReactNode>(null);
