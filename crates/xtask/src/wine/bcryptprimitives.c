/* The one function of bcryptprimitives.dll that Rust's standard library imports, for a wine that lacks the
 * library (8.0 does): random bytes from advapi32, where the function has had this name since Windows XP. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length)
{
    return SystemFunction036(bytes, (ULONG)length);
}
