/* Sample rates that can be heard. */
#ifndef DUSPAR_LISTENING_RATES_H_
#define DUSPAR_LISTENING_RATES_H_

enum { DUSPAR_LOWEST_RATE = 8000, DUSPAR_HIGHEST_RATE = 48000 };

#endif /* DUSPAR_LISTENING_RATES_H_ */
